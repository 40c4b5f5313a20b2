<?php
// A receiver of webhooks with what PHP brings, for a web server with TLS. To try it:
//   EMANET_WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:8080 receiver.php
declare(strict_types=1);

const TOLERANCE_SECONDS = 300;

function is_genuine(string $secret, string $header, string $body): bool
{
    $sent_at = '';
    $digests = [];
    foreach (explode(',', $header) as $part) {
        [$name, $value] = explode('=', $part, 2) + [1 => ''];
        if ($name === 't') {
            $sent_at = $value;
        } elseif ($name === 'v1') {
            $digests[] = $value;
        }
    }
    if (!ctype_digit($sent_at) || abs(time() - (int) $sent_at) > TOLERANCE_SECONDS) {
        return false;
    }
    $expected = hash_hmac('sha256', $sent_at . '.' . $body, $secret);
    // After a rotation there is one v1 for each secret that is still valid.
    foreach ($digests as $digest) {
        if (hash_equals($expected, $digest)) {
            return true;
        }
    }
    return false;
}

$body = file_get_contents('php://input'); // The bytes as they came.
$header = $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '';
if (!is_genuine((string) getenv('EMANET_WEBHOOK_SECRET'), $header, $body)) {
    http_response_code(400);
    return;
}
$event = json_decode($body, true);
// In production: a table with a unique key on webhook-id, so that an event that comes twice is handled once.
file_put_contents('php://stdout', $event['event'] . ' ' . $event['event_id'] . "\n");
http_response_code(204);
