import type { Experience } from '../domain/catalogue/experience.ts';
import { identifier } from '../domain/values/identifier.ts';
import { decodePage, type Page } from './decode-product.ts';
import { elements, members, text, WrongShape } from './shape.ts';

/** Decodes a page of the experience list (service-facts.md section 3). */
export function decodeExperiencePage(json: unknown): Page<Experience> {
  return decodePage(json, 'experiences', decodeExperience);
}

function decodeExperience(json: unknown): Experience {
  const experience = members(json, 'the experience');
  const experience_id = identifier(experience.id);
  if (experience_id === null)
    throw new WrongShape(`experience id ${JSON.stringify(experience.id)} is no usable identifier`);
  const { images: _, ...rest } = experience;
  const product_ids = elements(experience.product_ids ?? [], 'product_ids').map(identifier);
  return {
    experience_id,
    title: text(experience.title),
    product_ids: [...new Set(product_ids.filter((id) => id !== null))],
    document: JSON.stringify(rest),
  };
}
