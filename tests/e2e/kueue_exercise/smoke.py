"""What a rank of the smoke job does here: says which rank it is. Sixteen of them share this machine's few cores."""
import os

print("SMOKE rank", os.environ["RANK"], "of", os.environ["WORLD_SIZE"], flush=True)
