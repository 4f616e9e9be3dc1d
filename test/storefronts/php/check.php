<?php
// Asking the daemon: the check before an order, and the report after one. DAEMON is unix:///path or tcp://127.0.0.1:port.

const PATIENCE = 7;

/** Status and JSON of the answer to a POST; null where none came in time: nobody knows then, and nothing is guessed. */
function daemon(string $path, array $body): ?array
{
    preg_match('~^HTTP/1\.\d (\d{3}) .*?\r\n\r\n(.*)~s', talk(post($path, $body)), $part);
    [$status, $answer] = [(int) ($part[1] ?? 200), json_decode($part[2] ?? '', true)];
    if ($status === 200 && $answer === null) {
        error_log('no answer from the daemon at ' . getenv('DAEMON'));
        return null;
    }
    return [$status, $answer];
}

function post(string $path, array $body): string
{
    $json = json_encode($body);
    $head = ["POST $path HTTP/1.0", 'Host: localhost', 'Content-Type: application/json', 'Content-Length: ' . strlen($json)];
    if (getenv('DAEMON_TOKEN')) {
        $head[] = 'Authorization: Bearer ' . getenv('DAEMON_TOKEN');
    }
    return implode("\r\n", [...$head, '', $json]);
}

/** All that comes back; empty where nobody answers. */
function talk(string $request): string
{
    $socket = @stream_socket_client(getenv('DAEMON'), $code, $message, 1);
    if ($socket === false) {
        return '';
    }
    stream_set_timeout($socket, PATIENCE);
    @fwrite($socket, $request);
    return (string) @stream_get_contents($socket);
}

/** Whether what the shopper was shown still holds: holds, changed, gone or unknown. Null: the ticket is not sold. */
function check(array $wish): ?array
{
    [$status, $answer] = daemon('/v1/check', [
        'product_id' => $wish['product'], 'date' => $wish['date'], 'time' => $wish['time'],
        'variants' => [['variant_id' => $wish['variant'], 'count' => $wish['count']]],
        'expect_price' => ['amount' => $wish['count'] * $wish['price'], 'currency' => CURRENCY], 'deadline_ms' => 5000,
    ]) ?? [200, ['verdict' => 'unknown', 'now' => null, 'alternatives' => []]];
    return match (true) {
        $status === 200 => $answer,
        in_array($answer['error'] ?? '', ['unknown-product', 'unknown-variant'], true) => null,
        default => throw new RuntimeException("the daemon answers $status: " . json_encode($answer['message'] ?? '')),
    };
}

/** The daemon reads the dates of an order again, and counts the sale. It is no part of the order: it may fail. */
function report(array $wish, string $order): void
{
    daemon('/v1/orders', ['product_id' => $wish['product'], 'date' => $wish['date'], 'time' => $wish['time'],
        'quantity' => $wish['count'], 'outcome' => 'confirmed', 'order_id' => $order]);
}

/** What shoppers look at is read more often. Told after the page, and nobody waits for an answer. */
function seen(int $product, ?string $date): void
{
    $socket = @stream_socket_client(getenv('DAEMON'), $code, $message, 0.1);
    $socket && @fwrite($socket, post('/v1/seen', ['seen' => [['product_id' => $product, 'date' => $date]]]));
}
