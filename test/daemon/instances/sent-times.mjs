import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';

/* Loaded by an instance beside the program: notes when it sends each call to the service, by the clock that all processes share. */

const { CATALOGUED_TEST_SENT = '', CATALOGUED_TEST_SERVICE } = process.env;
subscribe('undici:client:sendHeaders', ({ request }) => {
  if (request.origin === CATALOGUED_TEST_SERVICE)
    appendFileSync(CATALOGUED_TEST_SENT, `${Number(process.hrtime.bigint()) / 1e6}\n`);
});
