"""An API server that tests/kubernetes/up.sh started: one connection a thread, repeated where nobody answered."""
import http.client
import json
import ssl
import threading
import time


class Api:
    def __init__(self, state):
        with open(f"{state}/ports") as file:
            self.port = int(file.read().split()[0])
        with open(f"{state}/pki/admin.token") as file:
            self.token = file.read().strip()
        self.tls = ssl.create_default_context(cafile=f"{state}/pki/apiserver.crt")
        self.local = threading.local()

    def open(self, timeout=30):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls)

    def headers(self, content="application/json"):
        return {"Authorization": f"Bearer {self.token}", "Content-Type": content}

    def ask(self, method, path, body=None, content="application/json", patience_s=120):
        """Status and the object. A write whose answer was lost is sent again: 409 and 404 then mean that it was done."""
        until = time.monotonic() + patience_s
        data = None if body is None else json.dumps(body)
        while True:
            try:
                if getattr(self.local, "connection", None) is None:
                    self.local.connection = self.open()
                self.local.connection.request(method, path, data, self.headers(content))
                answer = self.local.connection.getresponse()
                text = answer.read()
                if answer.status not in (429, 500, 503, 504):
                    return answer.status, json.loads(text or "{}")
            except (OSError, http.client.HTTPException):
                self.local.connection = None
            if time.monotonic() > until:
                raise TimeoutError(f"{method} {path}")
            time.sleep(0.2)

    def follow(self, path, on_list, on_event, stopped):
        """Lists, then watches, and again after each break, until `stopped`."""
        while not stopped():
            try:
                status, whole = self.ask("GET", path)
                if status != 200:
                    raise OSError(status)
                on_list(whole["items"])
                connection = self.open(timeout=60)
                version = whole["metadata"]["resourceVersion"]
                connection.request("GET", f"{path}{'&' if '?' in path else '?'}watch=true&resourceVersion={version}", None, self.headers())
                answer = connection.getresponse()
                while line := answer.readline():
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        break
                    on_event(event["type"], event["object"])
            except (OSError, ValueError, http.client.HTTPException):
                time.sleep(0.2)
