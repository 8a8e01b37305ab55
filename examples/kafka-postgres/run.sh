#!/bin/sh
# Runs the example: starts Kafka and PostgreSQL on this machine, writes the messages, runs the job,
# prints the table, and stops both services.
set -eu
cd "$(dirname "$0")"
if [ -d ../../.venv/bin ]; then PATH="$(cd ../../.venv/bin && pwd):$PATH"; fi
kafka_port=${KAFKA_PORT:-9092}
postgres_port=${POSTGRES_PORT:-5432}

stop() {
  millstream dev kafka down --remove
  millstream dev postgres down --remove
}
trap stop EXIT

millstream dev kafka up --port "$kafka_port"
millstream dev postgres up --port "$postgres_port" >/dev/null
python generate.py
for topic in orders shipments; do
  millstream dev kafka topics --create "$topic" --partitions 3 >/dev/null
  millstream dev kafka produce "$topic" --file "data/$topic.jsonl" --key-field order_id
done

PGPASSWORD=$(cat .millstream/postgres/password)
export PGPASSWORD
millstream run job.sql --once --flush --fresh \
  --set "kafka=127.0.0.1:$kafka_port" --set "postgres=postgresql://127.0.0.1:$postgres_port/postgres"
millstream dev postgres psql -- -c "
  SELECT coalesce(carrier, 'not shipped') AS carrier, count(*) AS orders, sum(amount) AS amount
  FROM order_status GROUP BY carrier ORDER BY carrier"
