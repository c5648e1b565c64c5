// Records a run in which one call fails again and again, recalls it, and is warned before making that call again.
//
//   node example.mjs [http://HOST:PORT]
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { connect, record, watch } from './hindsight.mjs';

const call = (step_index, action_name, args, observation, failed = false) => ({
  step: {
    step_index,
    action_type: 'ACTION_TYPE_TOOL_CALL',
    action_name,
    action_detail: JSON.stringify(args),
    observation,
    status: failed ? 'STEP_STATUS_ERROR' : 'STEP_STATUS_OK',
  },
});

export async function example(server) {
  const { collector, recall, memory } = connect(server);
  const traceId = `node-${randomUUID()}`;
  const goal = 'The mail queue of host mx-2 does not drain. 邮件队列堵塞';
  const missing = 'postqueue: fatal: unit postfix@main not found';
  const refused = await record(collector, traceId, [
    { started: { goal, task_type: 'incident', environment: { tags: ['bare-metal'] } } },
    call(0, 'restart_unit', { unit: 'postfix@main' }, missing, true),
    call(1, 'restart_unit', { unit: 'postfix@main' }, missing, true),
    call(2, 'list_units', { pattern: 'postfix*' }, 'postfix@-.service loaded active'),
    call(3, 'restart_unit', { unit: 'postfix@-' }, 'postfix@-.service restarted'),
    call(4, 'queue_length', { host: 'mx-2' }, '0 messages'),
    { completed: { outcome: { status: 'OUTCOME_STATUS_SUCCESS', conclusion: 'the queue is empty' }, step_count: 5 } },
  ]);

  // Judging goes on in the background.
  let run;
  for (let i = 0; i < 300 && run?.record?.state !== 'EVALUATION_STATE_JUDGED'; i++) {
    await sleep(100);
    run = await memory.GetTrajectory({ trace_id: traceId }).catch((e) => (e.code === 5 ? undefined : Promise.reject(e)));
  }

  const answer = await recall.Recall({ query: goal, kinds: ['MEMORY_KIND_EXPERIENCE'], strict: true });
  const watching = watch(recall, { goal: '', environment: { tags: ['bare-metal'] } });
  await watching.opening;
  const before_call = { tool: 'restart_unit', arguments: JSON.stringify({ unit: 'postfix@main' }) };
  const warning = await watching.ask({ before_call });
  watching.close();
  [collector, recall, memory].forEach((service) => service.close());
  return { traceId, refused, run, answer, warning };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { answer, warning } = await example(process.argv[2]);
  console.log(answer.block || answer.empty_reason);
  console.log(warning.reminder?.block ?? warning.silence?.words);
}
