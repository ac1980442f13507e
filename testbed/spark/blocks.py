"""Serves jobs' input that is not on the task's own host: each connection sends a number of bytes,
in eight bytes, and gets that many back. Argument: the port."""

import socketserver
import struct
import sys

PORT = 7300
SOME = bytes(65536)


class Reader(socketserver.StreamRequestHandler):
    def handle(self):
        left, = struct.unpack("!Q", self.rfile.read(8))
        while left:
            self.request.sendall(SOME[:min(left, len(SOME))])
            left -= min(left, len(SOME))


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 64


if __name__ == "__main__":
    with Server(("", int(sys.argv[1])), Reader) as server:
        print("serving", flush=True)
        server.serve_forever()
