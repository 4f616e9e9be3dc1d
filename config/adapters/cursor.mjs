// For a service that answers { data, meta }, pages by a cursor, and calls the id of a product product_id.

export function request(question, settings, standard) {
  const asked = standard.request(question, settings, standard);
  if (question.page === undefined) return asked;
  const { page, ...query } = asked.query;
  return { ...asked, query: question.after === null ? query : { ...query, cursor: question.after } };
}

export function answer(question, status, body, standard) {
  if (status !== 200) return standard.answer(question, status, body, standard);
  const { data, meta } = body;
  switch (question.kind) {
    case 'products':
      return { rows: data.map(productOf), next: meta.next_cursor, total: meta.total };
    case 'experiences':
    case 'tags':
      return { rows: data, next: meta.next_cursor, total: meta.total };
    case 'product':
      return { row: productOf(data) };
    case 'checkout_information':
      return { row: data };
    case 'variants':
      return { rows: data };
    case 'availability':
      return { row: data, covers_to: meta.last_date };
    default:
      return standard.answer(question, status, body, standard);
  }
}

function productOf({ product_id, ...product }) {
  return { ...product, id: product_id };
}
