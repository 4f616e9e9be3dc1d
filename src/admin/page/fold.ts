import { type Html, html } from './html.ts';

/** A section whose content is folded below its summary until somebody asks for it. */
export function foldedPart(summary: string, unfolded: boolean, inner: Html): Html {
  return html`<section class="wide folded"><details${unfolded ? html` open` : null}><summary><h2>${summary}</h2></summary>
${inner}</details></section>
`;
}
