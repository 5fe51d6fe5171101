"""A producer and a consumer in Python, with nothing but its standard library.

Any HTTP client is a client. A pop with wait=true waits for messages; what is not acknowledged comes
again when its lease ends. Only what nothing was done of is tried again: 503, and a refused connection.
"""
import json
import os
import time
import urllib.error
import urllib.request

BASE = os.environ.get("SVC_SERVER", "http://localhost:6632") + "/api/v1"
QUEUE, GROUP = "example-python", "billing"


def call(path, body=None, method=None):
    """The answer; None for 204."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, method=method)
    for attempt in range(10):
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer) if answer.status != 204 else None
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise RuntimeError(error.read().decode()) from error
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
        time.sleep(1)  # an election, or a node that starts
    raise RuntimeError("the broker does not answer")


def work(order):
    if order["cents"] < 0:
        raise ValueError("an order of less than nothing")
    print(f"order {order['id']}: {order['cents']} cents")


call(f"/resources/queues/{QUEUE}", method="DELETE")  # begin anew
call("/configure", {"queue": QUEUE, "options": {"retryLimit": 0}})
call("/push", {"items": [
    {"queue": QUEUE, "partition": f"customer-{n}", "payload": {"id": n, "cents": cents}}
    for n, cents in enumerate([1250, 900, -5])
]})

# A real consumer goes on: `while True`, and wait=true alone.
pop = f"/pop/queue/{QUEUE}?consumerGroup={GROUP}&batch=10&partitions=10&wait=true&timeout=1000"
while batch := call(pop):
    acknowledgments = []
    for message in batch["messages"]:
        result = {key: message[key] for key in ("transactionId", "partitionId", "leaseId")}
        try:
            work(message["data"])
            result["status"] = "completed"
        except ValueError as error:
            print(f"order {message['data']['id']}: {error}")
            result.update(status="failed", error=str(error))
        acknowledgments.append(result)
    for result in call("/ack/batch", {"consumerGroup": GROUP, "acknowledgments": acknowledgments}):
        assert result["success"], result["error"]

for letter in call(f"/dlq?queue={QUEUE}&consumerGroup={GROUP}")["messages"]:
    print(f"dead letter: order {letter['data']['id']}: {letter['errorMessage']}")
