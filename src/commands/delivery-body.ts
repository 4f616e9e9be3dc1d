import { deliveryText } from '../domain/push/delivery-text.ts';
import { printableLines } from '../format.ts';

/** The most characters of a body that are shown. */
const shownAtMost = 4096;
const bytesALine = 16;
const deepest = 20;

/**
 * Returns a body for a terminal: JSON broken into lines with every value as it was written, other text unchanged,
 * anything else as a hex dump. Characters that could control the terminal become escapes.
 */
export function renderBody(body: Buffer): string {
  const text = textOf(body);
  if (text === null) return hexDump(body.subarray(0, shownAtMost / 4), body.length);
  const shown = printableLines(/^\s*[[{]/.test(text) ? broken(text) : text.slice(0, shownAtMost));
  return shown.length < shownAtMost ? shown : `${shown.slice(0, shownAtMost)}\n… of ${body.length} bytes`;
}

/**
 * Returns the body as text, inflated if it is gzip or deflate; null if it is not UTF-8 or contains NUL. A character cut off
 * at the end is left out.
 */
export function textOf(body: Buffer): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body, { stream: true });
    return text.includes('\0') ? null : text;
  } catch {
    const read = deliveryText(body);
    return 'text' in read ? read.text : null;
  }
}

/** Breaks lines of what looks like JSON, without reading it as JSON: numbers keep their digits, mistakes stay. */
function broken(text: string): string {
  let [result, depth, quoted] = ['', 0, false];
  const newLine = () => `\n${'  '.repeat(Math.min(Math.max(depth, 0), deepest))}`;
  for (let at = 0; at < text.length && result.length < shownAtMost; at += 1) {
    const char = text[at] ?? '';
    if (quoted) {
      result += char === '\\' ? char + (text[++at] ?? '') : char;
      quoted = char !== '"';
    } else if (char === '"') {
      result += char;
      quoted = true;
    } else if (char === '{' || char === '[') {
      depth += 1;
      const next = text.slice(at + 1).match(/^\s*([}\]])/);
      result += next === null ? char + newLine() : char;
    } else if (char === '}' || char === ']') {
      depth -= 1;
      result += /[{[]$/.test(result) ? char : newLine() + char;
    } else if (char === ',') result += char + newLine();
    else if (char === ':') result += ': ';
    else if (!/\s/.test(char)) result += char;
  }
  return result;
}

function hexDump(bytes: Buffer, length: number): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += bytesALine) {
    const part = bytes.subarray(at, at + bytesALine);
    const hex = [...part].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const ascii = part.toString('latin1').replace(/[^\x20-\x7e]/g, '.');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(3 * bytesALine - 1)}  ${ascii}`);
  }
  return `${lines.join('\n')}${length > bytes.length ? `\n… of ${length} bytes` : ''}`;
}
