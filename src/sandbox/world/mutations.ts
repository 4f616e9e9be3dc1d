import { checkoutInformation, productDetail } from './answers.ts';
import type { SandboxProduct } from './catalogue.ts';
import { applyEdit, type Edit, record, refuseEdit } from './edits.ts';
import type { Past } from './past.ts';

/** A change as it is announced, with the members that each type has (specification §2). */
export type ProductChange =
  | {
      readonly change_type: 'checkout_disabled';
      readonly reason: string | null;
      readonly expected_reopening: string | null;
      readonly alternative: number | null;
    }
  | { readonly change_type: 'checkout_enabled' }
  | {
      readonly change_type: 'product_details_update';
      readonly field_name: string;
      readonly type: string;
      readonly old_value: unknown;
      readonly new_value: unknown;
    };

export type SandboxChangeType = ProductChange['change_type'];

export type Announce = (product: SandboxProduct, change: ProductChange) => void;

/** Why a product is closed, until when, and what to sell instead. */
export interface CheckoutClosure {
  readonly reason?: string | null;
  readonly expected_reopening?: string | null;
  /** A product id; it goes into the notification only. */
  readonly alternative?: number | null;
}

/**
 * What can happen to a product: every read says so from now on, and it is announced. A product id that does not
 * exist, or an edit that is none, is the caller's mistake: it throws.
 */
export interface Mutations {
  /** Takes a product off sale. One that is off sale already takes the new reason, and nothing is announced. */
  disable(product_id: number, closure?: CheckoutClosure): void;
  /** Puts it back on sale; one that is on sale stays, and nothing is announced. */
  enable(product_id: number): void;
  /** Changes a text, the tags, the variants … (edits.ts). What it was already is not announced. */
  edit(product_id: number, edit: Edit): void;
}

export function mutations(
  find: (product_id: number) => SandboxProduct | null,
  past: Past,
  announce: Announce,
): Mutations {
  function changing(product_id: number): SandboxProduct {
    const product = find(product_id);
    if (product === null) throw new Error(`the sandbox has no product ${product_id}`);
    past.keep(product);
    return product;
  }

  function setStatus(
    product: SandboxProduct,
    status: SandboxProduct['status'],
    closure: Required<CheckoutClosure>,
  ): boolean {
    const moved = product.status !== status;
    product.status = status;
    product.reason = closure.reason;
    product.reopen = closure.expected_reopening;
    product.alternative = closure.alternative;
    record(product, {
      sale_status: status,
      sale_status_reason: product.reason,
      sale_status_expected_reopen: product.reopen,
    });
    return moved;
  }

  return {
    disable: (product_id, { reason = 'temporary_closure', expected_reopening = null, alternative = null } = {}) => {
      const product = changing(product_id);
      const closure = { reason, expected_reopening, alternative };
      if (setStatus(product, 'unavailable', closure))
        announce(product, { change_type: 'checkout_disabled', ...closure });
    },
    enable: (product_id) => {
      const product = changing(product_id);
      if (setStatus(product, 'available', { reason: null, expected_reopening: null, alternative: null }))
        announce(product, { change_type: 'checkout_enabled' });
    },
    edit: (product_id, edit) => {
      const product = changing(product_id);
      const refused = refuseEdit(edit);
      if (refused !== null) throw new Error(refused);
      const changed = applyEdit(product, edit, shownOf(product));
      if (JSON.stringify(changed.old_value) === JSON.stringify(changed.new_value)) return;
      announce(product, { change_type: 'product_details_update', field_name: edit.field, ...changed });
    },
  };
}

function shownOf(product: SandboxProduct) {
  const detail = JSON.parse(productDetail(product, 'en', 'EUR')) as Record<string, unknown>;
  const checkout = JSON.parse(checkoutInformation(product, 'en')) as Record<string, Record<string, unknown>>;
  return { product: detail, checkout_information: checkout.additional_information ?? {} };
}
