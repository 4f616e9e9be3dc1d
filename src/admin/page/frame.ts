import type { FastifyReply } from 'fastify';
import { contentPolicy } from './document.ts';

/** No site may frame a page, and its forms send only to us. */
const policy = [...contentPolicy, "form-action 'self'", "frame-ancestors 'none'"].join('; ');

/** Sends a page that must not be cached. */
export function sendPage(reply: FastifyReply, page: string, status = 200): FastifyReply {
  return reply
    .code(status)
    .headers({
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      // Not `no-referrer`, with which browsers send `Origin: null` for our own forms.
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
    })
    .type('text/html; charset=utf-8')
    .send(page);
}
