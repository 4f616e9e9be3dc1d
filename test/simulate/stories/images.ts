import { table } from '../../../src/commands/terminal/table.ts';
import { number } from '../../../src/format.ts';
import { imageStory } from '../images.ts';
import { type Asked, progress, say } from './story.ts';

/** The fourteen days, asked at every minute by a reader's own clock. `--days` is 40 and `--products` 300, unless given. */
export async function imagesStory(asked: Asked): Promise<number> {
  await using stack = new AsyncDisposableStack();
  const story = await imageStory(
    {
      days: asked.number('days', 40),
      products: asked.number('products', 300),
      seed: asked.number('seed', 1),
      silent_days: 16,
      // Fewer looks at dates than usual: they are not what is asked here, and a look at the view is made each minute.
      config: { scheduling: 'fixed', cadence: { availability: { near: { every: '24h' }, middle: { every: '24h' } } } },
      progress,
    },
    stack,
  );
  const limit = 14 * 86_400_000;
  const rows = story.lines.map(({ what, minutes, oldest_ms, shown_least, shown_most }) => [
    what,
    number(minutes),
    exactly(oldest_ms),
    number(shown_least),
    number(shown_most),
  ]);
  say(`\n${table(['', 'minutes asked', 'oldest image visible', 'least shown', 'most shown'], rows)}\n\n`);
  say(`without the limit in the view the oldest would be ${exactly(story.unlimited_ms)} (control)\n`);
  say(
    `${number(story.changes)} changes of images and credits at the service, ${number(story.takedowns)} takedowns; ${number(story.compared)} images compared with the service's own record of its newest answers: ${number(story.differing)} differ (control: ${number(story.behind)} differ from what the service has by then and no answer has told)\n`,
  );
  say(`${story.seconds.toFixed(0)} s of real time\n`);
  const kept = story.lines.every(({ oldest_ms }) => oldest_ms < limit) && story.unlimited_ms >= limit;
  return kept && story.differing === 0 && story.lines.at(-1)?.shown_least === 0 ? 0 : 1;
}

/** 13 d 23 h 59 min, never rounded up. */
function exactly(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  return `${Math.floor(minutes / 1440)} d ${Math.floor(minutes / 60) % 24} h ${minutes % 60} min`;
}
