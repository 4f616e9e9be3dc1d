import { type Plan, plain, type Setting } from './plan.ts';

/**
 * Makes a failing plan as small as it gets: events are left out in halves, quarters and so on (delta debugging), then the
 * setting becomes plain, key by key. `fails` says whether what is left still fails in the same way.
 */
export async function shrink(plan: Plan, fails: (plan: Plan) => Promise<boolean>): Promise<Plan> {
  let smallest = plan;
  const tryIt = async (candidate: Plan) => {
    if (!(await fails(candidate))) return false;
    smallest = candidate;
    return true;
  };
  await tryIt({ ...smallest, events: [] });
  for (let size = Math.ceil(smallest.events.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < smallest.events.length; ) {
      const events = smallest.events.toSpliced(from, size);
      // What comes after has moved to where this was.
      if (!(await tryIt({ ...smallest, events }))) from += size;
    }
  }
  for (const key of Object.keys(plain) as (keyof Setting)[]) {
    const setting = { ...smallest.setting, [key]: plain[key] };
    if (JSON.stringify(setting) !== JSON.stringify(smallest.setting)) await tryIt({ ...smallest, setting });
  }
  for (const quirk of Object.keys(smallest.setting.quirks)) {
    const { [quirk as 'dates']: _, ...quirks } = smallest.setting.quirks;
    await tryIt({ ...smallest, setting: { ...smallest.setting, quirks } });
  }
  const last = smallest.events.at(-1)?.at ?? 0;
  const days = Math.max(1, Math.ceil(last / 86_400));
  if (days < smallest.setting.days) await tryIt({ ...smallest, setting: { ...smallest.setting, days } });
  return smallest;
}
