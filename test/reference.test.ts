import { expect, it } from 'vitest';
import { document, withParts } from './documents.ts';
import { commands, keys, members, metrics, promises, withLimits } from './reference.ts';

const pages = {
  ...Object.fromEntries(
    Object.entries({ keys, metrics, commands, members, promises }).map(([name, part]) => [
      name,
      async (text: string) => withParts(text, { [name]: await part() }),
    ]),
  ),
  limits: withLimits,
};

it.for(Object.entries(pages))(
  '%s of docs/reference/ are made from the code (npm run generate)',
  async ([name, made]) => {
    const path = `docs/reference/${name}.md`;
    await expect(await made(document(path))).toMatchFileSnapshot(`../${path}`);
  },
);
