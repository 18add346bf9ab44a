"""An example: an HTTP server that runs each request's command in a sandbox of its own.

    server.py [ADDRESS:PORT]        0.0.0.0:8080; port 0 takes a free one and prints it

POST /run, with "Authorization: Bearer TOKEN" and {"command": ["sh", "-c", "..."]}, answers with what sbx-exec reports of
it: outcome, exit code, output. The token is the secret /run/secrets/token; a log is kept in /state. The policy is
/etc/sbx/policies/server.json. A client that closes its connection, or its sending half, ends its command.
"""

import hmac
import json
import logging
import logging.handlers
import os
import select
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONNECTIONS = 64
COMMANDS = 8
REQUEST_BYTES = 64 * 1024
SECONDS = 10  # that a client may be silent, and take for the answer

log = logging.getLogger("server")
commands = threading.BoundedSemaphore(COMMANDS)


def run(command, client):
    """What sbx-exec reports of the command; None when the client has gone."""
    report, write = os.pipe()
    # As root the command is somebody else than the server.
    user = ["--user", "65534:65534"] if os.geteuid() == 0 else []
    words = ["/opt/sbx/bin/sbx-exec", "-p", "server", *user, "--capture", "--report", f"fd:{write}", "--", *command]
    with open(report, "rb") as report:
        try:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=[write])
        finally:
            os.close(write)
        with process:
            try:
                poll = select.poll()
                poll.register(report, select.POLLIN)
                poll.register(client, select.POLLRDHUP)
                text = b""
                while True:
                    ready = dict(poll.poll())
                    if client.fileno() in ready:
                        return None
                    part = os.read(report.fileno(), 65536)
                    if not part:
                        return json.loads(text or '{"outcome": "lost"}')
                    text += part
            finally:
                # To one that has ended this is nothing. It ends the command, and is itself the last to end; what it
                # reports then nobody reads.
                process.terminate()
                report.close()


class Handler(BaseHTTPRequestHandler):
    timeout = SECONDS

    def do_POST(self):
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(token.encode(), self.server.token):
            return self.answer(401, {"error": "the token is wrong"})
        if self.path != "/run":
            return self.answer(404, {"error": "there is only /run"})
        try:
            length = int(self.headers.get("Content-Length", ""))
            if not 0 <= length <= REQUEST_BYTES:
                return self.answer(413, {"error": f"a request has {REQUEST_BYTES} bytes at most"})
            command = json.loads(self.rfile.read(length))["command"]
            if not isinstance(command, list) or not command or any(b"\0" in os.fsencode(word) for word in command):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            return self.answer(400, {"error": 'send {"command": ["PROGRAM", "ARGUMENT"...]}'})
        if not commands.acquire(blocking=False):
            return self.answer(503, {"error": f"{COMMANDS} commands are running"})
        try:
            report = run(command, self.connection)
        finally:
            commands.release()
        log.info("%s %r: %s", self.client_address[0], command, report["outcome"] if report else "the client has gone")
        if not report:
            self.close_connection = True
        elif report["outcome"] in ("refused", "setup-failed", "lost"):
            # Why is in the container's log: sbx-exec has said it on standard error.
            self.answer(500, {"error": "the command could not be run"})
        else:
            told = ("outcome", "exit_code", "signal", "duration_ms", "stdout", "stderr")
            self.answer(200, {key: report[key] for key in told})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = CONNECTIONS
    connections = threading.BoundedSemaphore(CONNECTIONS)

    def process_request(self, request, client_address):
        if self.connections.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connections.release()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (TimeoutError, ConnectionError)):
            super().handle_error(request, client_address)


def serve(address, port):
    with open("/run/secrets/token", "rb") as file:
        token = file.read().strip()
    if not token:
        sys.exit("/run/secrets/token is empty")
    os.umask(0o077)
    log.setLevel(logging.INFO)
    log.addHandler(logging.handlers.RotatingFileHandler("/state/log", maxBytes=1 << 20, backupCount=1))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = Server((address, port), Handler)
    server.token = token
    print("listening on %s:%d" % server.server_address, flush=True)
    server.serve_forever()


def main():
    address, _, port = (sys.argv[1] if len(sys.argv) > 1 else "0.0.0.0:8080").rpartition(":")
    if os.getpid() != 1:
        return serve(address, int(port))
    # The first process of a container inherits what is left of a sbx-exec that was killed, and nobody else waits for it.
    child = os.fork()
    if not child:
        return serve(address, int(port))
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    while True:
        pid, status = os.wait()
        if pid == child:
            sys.exit(os.waitstatus_to_exitcode(status) and 1)


if __name__ == "__main__":
    main()
