import { live } from './driver.ts';
import type { Answer, Question } from './workers.ts';

// Lives through the plans that it is sent, one after another (workers.ts).
process.on('message', async ({ plan, options }: Question) => {
  const began = process.cpuUsage();
  const lived = await live(plan, options);
  const { user, system } = process.cpuUsage(began);
  process.send?.({ ...lived, cpu_ms: (user + system) / 1000 } satisfies Answer);
});
process.on('disconnect', () => process.exit());
