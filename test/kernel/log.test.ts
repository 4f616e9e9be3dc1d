import { expect, it } from 'vitest';
import { rsaPem } from '../fakes/signing-keys.ts';
import { testLog } from '../fakes/test-log.ts';

it('a line has no secret in it, wherever it stood: in a path, a message, a stack, or deep in an object', () => {
  const { log, lines } = testLog('trace');
  const address = 'q'.repeat(43);
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJlbnRpdHlfaWRzIjpbMV19.c2lnbmF0dXJl';
  const pem = rsaPem('pkcs8');
  log.error({ err: new Error(`POST https://partner.example/hooks/${address} failed`) }, 'one');
  log.warn({ a: { b: { c: { d: `Authorization: Token ${'k'.repeat(20)}` } } } }, 'two');
  log.info({ body: jwt, pem }, `three ${jwt}`);
  const text = JSON.stringify(lines());
  for (const secret of [address, 'k'.repeat(20), jwt, pem.split('\n')[3] ?? pem]) expect(text).not.toContain(secret);
  expect(text.match(/\[hidden\]/g)?.length).toBeGreaterThanOrEqual(6);
  // A hash of a body is as long as an address, and is told.
  log.info({ sha256: 'h'.repeat(43), path: `/v2/products/${'7'.repeat(6)}` }, 'four');
  expect(JSON.stringify(lines().at(-1))).not.toContain('[hidden]');
});
