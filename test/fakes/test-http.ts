import type { Clock } from '../../src/kernel/clock.ts';
import { createHttp, type Http, type HttpOptions } from '../../src/service/http.ts';

/** Calls of a test to a service, through real connections. */
export function testHttp(base_url: string, clock: Clock, more: Partial<HttpOptions> = {}): Http {
  return createHttp({
    base_url,
    key: null,
    user_agent: 'brand catalogued',
    timeouts: { connect: 5000, headers: 60_000, idle: 60_000 },
    connections: 2,
    throttle_statuses: [429, 503],
    clock,
    ...more,
  });
}
