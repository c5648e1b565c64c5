// The services of Hindsight, from the proto files: nothing is generated.
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const PROTO = join(dirname(fileURLToPath(import.meta.url)), '../../proto');
const MESSAGE_BYTES = 64 * 1024 * 1024;

/**
 * The services at `http://HOST:PORT` or `https://HOST:PORT`, each unary method as a promise.
 *
 * A call has 10 seconds, or `{ timeout }` in milliseconds. What fails throws an error with `code`, `details` and
 * the trailing `metadata`.
 */
export function connect(server = 'http://127.0.0.1:7411', apiKey = process.env.HINDSIGHT_API_KEY) {
  const files = readdirSync(PROTO, { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('_service.proto'));
  const definition = loadSync(files, {
    includeDirs: [PROTO],
    keepCase: true,
    longs: Number,
    enums: String,
    defaults: true,
    oneofs: true,
  });
  const { hindsight } = grpc.loadPackageDefinition(definition);
  const { protocol, host } = new URL(server);
  const credentials = protocol === 'https:' ? grpc.credentials.createSsl() : grpc.credentials.createInsecure();
  const metadata = new grpc.Metadata();
  if (apiKey) metadata.set('authorization', `Bearer ${apiKey}`);
  const service = (Service) => {
    const client = new Service(host, credentials, {
      'grpc.max_receive_message_length': MESSAGE_BYTES,
      'grpc.max_send_message_length': MESSAGE_BYTES,
    });
    const wrapped = { close: () => client.close() };
    for (const [name, method] of Object.entries(Service.service)) {
      wrapped[name] =
        method.requestStream || method.responseStream
          ? () => client[name](metadata)
          : (request, { timeout = 10_000 } = {}) =>
              new Promise((resolve, reject) => {
                const answered = (error, answer) => (error ? reject(error) : resolve(answer));
                client[name](request, metadata, { deadline: Date.now() + timeout }, answered);
              });
    }
    return wrapped;
  };
  return {
    collector: service(hindsight.collector.v1.CollectorService),
    recall: service(hindsight.recall.v1.RecallService),
    memory: service(hindsight.memory.v1.MemoryService),
  };
}

/** Sends the events of one run and waits until each is durable; returns those that were refused. */
export function record(collector, traceId, events) {
  return new Promise((resolve, reject) => {
    const stream = collector.RecordEvents();
    const refused = [];
    stream.on('data', (answer) => {
      refused.push(...answer.rejections);
      if (answer.acknowledged_sequence === events.length) stream.end();
    });
    stream.on('error', reject);
    stream.on('end', () => resolve(refused));
    events.forEach((event, i) => stream.write({ sequence: i + 1, trace_id: traceId, ...event }));
  });
}

/** A watch: `ask` sends one event and resolves to its answer, which is a reminder, a silence or a rejection. */
export function watch(recall, start) {
  const stream = recall.Watch();
  const waiting = [];
  stream.on('data', (answer) => waiting.shift()?.resolve(answer));
  const fail = (error) => waiting.splice(0).forEach((w) => w.reject(error));
  stream.on('error', fail);
  stream.on('end', () => fail(new Error('the server ended the watch')));
  let sequence = 0;
  const ask = (event) =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      stream.write({ sequence: ++sequence, ...event });
    });
  return { opening: ask({ start }), ask, close: () => stream.end() };
}
