"""A TCP proxy that delays every byte: slow_proxy.py LISTEN_PORT TARGET_PORT DELAY_FILE

DELAY_FILE holds milliseconds, one way; it is read again ten times a second, so a test changes it while connections are open.
"""
import asyncio
import sys

listen_port, target_port, delay_file = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
delay_s = 0.0


async def read_delay():
    global delay_s
    while True:
        try:
            with open(delay_file) as file:
                delay_s = float(file.read() or 0) / 1000
        except (OSError, ValueError):
            pass  # it is being written
        await asyncio.sleep(0.1)


async def pipe(reader, writer):
    """Bytes leave in their order, each `delay_s` after it came."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue()

    async def forward():
        while (item := await queue.get()) is not None:
            due, data = item
            if (wait := due - loop.time()) > 0:
                await asyncio.sleep(wait)
            writer.write(data)
            await writer.drain()
        writer.close()

    task = loop.create_task(forward())
    try:
        while data := await reader.read(65536):
            queue.put_nowait((loop.time() + delay_s, data))
    except OSError:
        pass
    queue.put_nowait(None)
    try:
        await task
    except OSError:
        pass


async def connected(reader, writer):
    try:
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", target_port)
    except OSError:
        writer.close()
        return
    await asyncio.gather(pipe(reader, to_writer), pipe(to_reader, writer))


async def main():
    server = await asyncio.start_server(connected, "127.0.0.1", listen_port)
    asyncio.get_running_loop().create_task(read_delay())
    async with server:
        await server.serve_forever()


asyncio.run(main())
