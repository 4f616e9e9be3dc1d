import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { type Html, html } from './html.ts';
import { pageStyle } from './style.ts';

/**
 * The content security policy of every document. Nothing is loaded or run, and the only inline style is allowed by its
 * hash.
 */
export const contentPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(pageStyle).digest('base64')}'`,
  'img-src data:',
  "base-uri 'none'",
] as const;

export interface Framed {
  readonly title: string;
  /** The name of the program, at the top of the page. */
  readonly name?: Html;
  /** The text beside the name. */
  readonly about: Html;
  readonly now: number;
  readonly main: Html;
  readonly footer: Html;
  /** Further elements of the head. */
  readonly head?: Html;
}

const home = html`<a href="/">catalogued</a>`;

/** Returns a whole document, without any script. */
export function framed({ title, name = home, about, now, main, footer, head = html`` }: Framed): string {
  const at = new Date(now).toISOString();
  const style: Html = { markup: `<style>${pageStyle}</style>` };
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} – catalogued</title>
${head}
${style}
</head>
<body>
<header><strong>${name}</strong> <span>${about}</span> <span>as of <time datetime="${at}">${at.slice(0, 19).replace('T', ' ')} UTC</time></span></header>
<main>
${main}</main>
<footer>${footer}</footer>
</body>
</html>
`.markup;
}

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
