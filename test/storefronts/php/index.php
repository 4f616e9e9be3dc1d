<?php
// An example storefront for PHP's own server: MIRROR=data/mirror.db DAEMON=unix:///…/storefront.sock php -S 127.0.0.1:8000 index.php
require 'mirror.php';
require 'forms.php';
require 'check.php';
require 'pages.php';

/** Status and page, as all that answer a request. */
function show_search(): array
{
    $ask = asked($_GET);
    return [200, together(function () use ($ask): string {
        $filters = filters($ask);
        return search_page($ask, $filters, search($filters));
    })];
}

function show_product(int $id): array
{
    $product = product($id);
    if ($product === null || policy('products', $product['freshness']) === 'hide') {
        $gone = withdrawn($id);
        $other = ($gone['successor_title'] ?? null) === null ? ''
            : "<p>See instead: <a href=\"/product/{$gone['successor']}\">" . e($gone['successor_title']) . '</a></p>';
        return $gone ? [410, page($gone['title'], '<h1>' . e($gone['title']) . "</h1><p>This is no longer offered.</p>$other")]
            : [404, page('Not found', '<h1>There is no such product</h1>')];
    }
    $ask = asked($_GET);
    $today = (new DateTimeImmutable('now', new DateTimeZone($product['timezone'] ?? 'UTC')))->format('Y-m-d');
    $date = date_of($ask['date'] ?? '');
    $month = substr($date ?? date_of(($ask['month'] ?? '') . '-01') ?? $today, 0, 7);
    return [200, product_page($product, $today, $month, $date)];
}

/** The last check before the money: what does not hold is not ordered. */
function buy(string $step): array
{
    $wish = wish($_POST);
    if ($wish === null) {
        return [400, page('Checkout', '<h1>That is no order</h1>')];
    }
    $order = order_of($_POST['order'] ?? null);
    $answer = check($wish);
    if ($answer === null) {
        return [404, page('Checkout', '<h1>This ticket is not sold here</h1>')];
    }
    // Read before anything is ordered: afterwards nothing may fail.
    [$names, $instead] = together(fn () => [
        names($wish['product'], $wish['variant']),
        array_map('alternative', $answer['alternatives']),
    ]);
    if ($step === '/order' && $answer['verdict'] === 'holds') {
        // Here a real shop makes its order with the service; only when that is confirmed does it say so.
        report($wish, $order);
        $answer['verdict'] = 'ordered';
    }
    return [200, checkout_page($wish, $order, $names, $answer, $instead)];
}

/** Another time or date, or another product, for a list of what there is instead. */
function alternative(array $other): array
{
    $title = $other['kind'] === 'product' ? product($other['product_id'])['title'] ?? null : null;
    $words = implode(', ', array_filter([$title, day($other['date']), spoken($other['time'])]));
    return ["/product/{$other['product_id']}?date={$other['date']}#slots", $words, $other['price']['amount'] ?? null];
}

function respond(string $path): array
{
    return match (true) {
        $_SERVER['REQUEST_METHOD'] === 'POST' && in_array($path, ['/checkout', '/order'], true) => buy($path),
        preg_match('~^/product/(\d{1,15})$~D', $path, $part) === 1 => together(fn () => show_product((int) $part[1])),
        $path === '/' => show_search(),
        default => [404, page('Not found', '<h1>There is no such page</h1>')],
    };
}

$path = (string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path === '/shop.css') {
    header('Content-Type: text/css');
    readfile(__DIR__ . '/../shop.css');
    return;
}
try {
    [$status, $html] = respond($path);
} catch (Throwable $mistake) {
    // What went wrong is for the log, not for visitors.
    error_log($mistake::class . ": {$mistake->getMessage()} in {$mistake->getFile()}:{$mistake->getLine()}");
    [$status, $html] = [500, page('Sorry', '<h1>Something went wrong on our side</h1><p>Please try again later.</p>')];
}
http_response_code($status);
header("Content-Security-Policy: default-src 'none'; img-src http: https:; style-src 'self'; form-action 'self'");
echo $html;
if ($status === 200 && sscanf($path, '/product/%d', $shown) === 1) {
    seen($shown, date_of(asked($_GET)['date'] ?? ''));
}
