import { live } from './driver.ts';
import { caseOf } from './lies/cases.ts';
import { liveCase } from './lies/live.ts';
import { pinnedRows } from './pinned.ts';
import type { Answer, Question } from './workers.ts';

// Lives through the plans and cases that it is sent, one after another (workers.ts).
process.on('message', async (question: Question) => {
  if ('pinned' in question) {
    const { pinned } = question;
    const answered = (rows: string | null, failure = '') => void process.send?.({ rows, failure });
    return void pinnedRows(pinned).then(answered, (error: Error) => answered(null, error.stack ?? error.message));
  }
  if ('name' in question) return void process.send?.(await liveCase(caseOf(question.name), question.daemon));
  const began = process.cpuUsage();
  const lived = await live(question.plan, question.options);
  const { user, system } = process.cpuUsage(began);
  process.send?.({ ...lived, cpu_ms: (user + system) / 1000 } satisfies Answer);
});
process.on('disconnect', () => process.exit());
