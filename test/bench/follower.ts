import { lagsOf } from '../storefronts/under-load/followed.ts';
import { type Line, optionsOf, quantile } from './measure.ts';

/* How far a followed copy is behind, at ten calls a second and in a storm. `npm run bench -- follower [--seconds 20]` */

export async function followerLines(args: readonly string[]): Promise<Line[]> {
  const { seconds } = optionsOf('follower', args, { seconds: 20 });
  const { usual, storm, notifications } = await lagsOf({
    products: 100,
    seconds,
    notifications: 1000,
  });
  return [
    lineOf('at ten calls a second', usual),
    lineOf(`while ${notifications.toLocaleString('en-US')} notifications arrive as fast as they can`, storm),
  ];
}

function lineOf(when: string, lags: readonly number[]): Line {
  const p99 = quantile(lags, 0.99);
  return {
    what: `how far a followed copy is behind ${when}`,
    value: `p50 ${quantile(lags, 0.5).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms of ${lags.length} rows`,
    target: 'p99 < 1 s',
    met: lags.length > 0 && p99 < 1000,
  };
}
