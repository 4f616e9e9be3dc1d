-- The credits of a product's images, escaped for HTML, for a page that has no means of its own.
SELECT large_url,
  replace(replace(replace(replace(replace(credit, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#039;')
    AS credit_html
FROM images WHERE product_id = :product ORDER BY position;
