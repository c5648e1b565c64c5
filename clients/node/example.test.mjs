// Against the server at HINDSIGHT_SERVER, which warns of what one run has seen (`[watch] min_times = 1`).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect, record, watch } from './hindsight.mjs';
import { example } from './example.mjs';

const server = process.env.HINDSIGHT_SERVER;

test('a run is recorded, judged, recalled, and its failing call is warned of', async () => {
  const { traceId, refused, run, answer, warning } = await example(server);
  assert.deepEqual(refused, []);
  assert.equal(run?.record?.state, 'EVALUATION_STATE_JUDGED');
  assert.deepEqual(
    run.trajectory.steps.map((s) => s.status),
    ['ERROR', 'ERROR', 'OK', 'OK', 'OK'].map((s) => `STEP_STATUS_${s}`),
  );
  const traces = answer.items.map((item) => item.memory.experience?.trajectory.trace_id);
  assert.ok(traces.includes(traceId), answer.empty_reason);
  assert.match(answer.block, /postfix@-/);
  assert.equal(warning.said, 'reminder', JSON.stringify(warning.silence));
  assert.equal(warning.reminder.trigger, 'REMINDER_TRIGGER_BEFORE_CALL');
  assert.match(warning.reminder.block, /not found/);
});

test('a long run of small events is one stream, beside a watch', async () => {
  const { collector, recall, memory } = connect(server);
  const watching = watch(recall, { goal: '' });
  await watching.opening;
  const steps = Array.from({ length: 4_998 }, (_, step_index) => ({
    step: { step_index, action_type: 'ACTION_TYPE_TOOL_CALL', action_name: 'f', observation: 'r' },
  }));
  const traceId = `long-${randomUUID()}`;
  const events = [{ started: { goal: 'count' } }, ...steps, { completed: { step_count: steps.length } }];
  const recorded = record(collector, traceId, events);
  for (let i = 0; i < 20; i++) {
    const answer = await watching.ask({ before_call: { tool: 'f', arguments: `${i}` } });
    assert.equal(answer.said, 'silence');
  }
  assert.deepEqual(await recorded, []);
  watching.close();
  [collector, recall, memory].forEach((service) => service.close());
});

test('an error names the field', async () => {
  const { recall } = connect(server);
  await assert.rejects(recall.Recall({ query: '' }), (error) => error.code === 3 && /query/.test(error.details));
  recall.close();
});

test('a call without an answer ends at its deadline', async () => {
  const { recall } = connect('http://127.0.0.1:9');
  await assert.rejects(recall.Recall({ query: 'x' }, { timeout: 300 }), (e) => e.code === 14 || e.code === 4);
  recall.close();
});

test('what the README of the schema says runs', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const readme = readFileSync(`${root}/proto/README.md`, 'utf8');
  const code = /```js\n(.*?)```/s.exec(readme)[1].replace('127.0.0.1:7411', new URL(server).host);
  const file = fileURLToPath(new URL('readme.tmp.mjs', import.meta.url));
  writeFileSync(file, code);
  try {
    const said = execFileSync(process.execPath, [file], { cwd: root, encoding: 'utf8', timeout: 60_000 });
    assert.ok(said.trim().length > 0);
  } finally {
    rmSync(file);
  }
});
