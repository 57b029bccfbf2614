"""What a rank of the smoke job does here: says which rank it is. Sixteen of them share this machine's few cores."""
import os

# One write: the eight ranks of a pod share its log.
os.write(1, f"SMOKE rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}\n".encode())
