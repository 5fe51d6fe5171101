#!/bin/sh
# Push, pop and acknowledge with plain curl. Any HTTP client is a client.
set -eu
base="${SVC_SERVER:-http://localhost:6632}/api/v1"
queue=example-curl

# The member $1 of the JSON on the input, where it is a text: enough for ids. jq does more.
member() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

# Push twice with one transaction id: it is stored once.
for try in 1 2; do
  pushed=$(curl -sS --fail-with-body "$base/push" -d "{\"items\":[
    {\"queue\":\"$queue\",\"transactionId\":\"order-$$\",\"payload\":{\"total\":12.50}}]}")
  echo "push $try: $(echo "$pushed" | member status)"
done

# Pop waits for up to five seconds. The group holds a lease on the partition until it acknowledges.
popped=$(curl -sS --fail-with-body \
  "$base/pop/queue/$queue?consumerGroup=billing&wait=true&timeout=5000")
echo "popped: $(echo "$popped" | sed -n 's/.*"data":\({[^}]*}\).*/\1/p')"

# Acknowledge with the three ids of the answer.
acked=$(curl -sS --fail-with-body "$base/ack" -d "{\"consumerGroup\":\"billing\",\"status\":\"completed\",
  \"transactionId\":\"$(echo "$popped" | member transactionId)\",
  \"partitionId\":\"$(echo "$popped" | member partitionId)\",
  \"leaseId\":\"$(echo "$popped" | member leaseId)\"}")
echo "acknowledged: $(echo "$acked" | sed -n 's/.*"success":\([a-z]*\).*/\1/p')"

# A key that ends by itself after a minute.
curl -sS --fail-with-body -X PUT "$base/kv/example/greeting" \
  -d '{"value":"hello","ttlSeconds":60}' >/dev/null
echo "key: $(curl -sS "$base/kv/example/greeting" | member value)"
