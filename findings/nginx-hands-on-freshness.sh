#!/bin/sh
# Software: nginx 1.22.1-9+deb12u11 (Debian 12), as a cache.
# Behaviour: nginx sends what it keeps with a Date of its own and without an Age, so that a max-age begins again in whatever
#   reads from it: behind two caches in a row an answer lives nearly twice as long. An Expires is handed on as it is. With
#   proxy_cache_revalidate a 304 renews what nginx keeps, and nginx hands on the Expires of before: nobody behind it keeps that.
# Seen: 2026-11-27. A time of a venue was sold up to a minute after it had begun.
# Runs without catalogued, on a Debian with this package in its sources, and with any Node. Exits 1 when the output is another one.
set -eu
place=$(mktemp -d)
trap 'kill $(cat pids) 2>/dev/null; wait; rm -rf "$place"' EXIT
cd "$place"
chmod 0755 .
apt-get -qq download nginx=1.22.1-9+deb12u11 2>/dev/null
dpkg-deb -x nginx_*.deb debian
cat >service.mjs <<'JS'
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
const second = (ms) => new Date(ms).toUTCString();
createServer(({ url, headers }, answer) => {
  const freshness = url === '/aged' ? { 'cache-control': 'max-age=3' } : { expires: second(Date.now() + 3000) };
  answer.writeHead(headers['if-none-match'] === '"1"' ? 304 : 200, { ...freshness, etag: '"1"' }).end();
}).listen(0, '127.0.0.1', function () {
  writeFileSync('port', String(this.address().port));
});
JS
node service.mjs & echo $! >pids
until [ -s port ]; do sleep 0.1; done
cat >nginx.conf <<CONF
daemon off; pid $place/pid; error_log stderr crit; events {}
http {
  access_log off; client_body_temp_path $place/a; proxy_temp_path $place/b; fastcgi_temp_path $place/c; uwsgi_temp_path $place/d; scgi_temp_path $place/e;
  proxy_cache_path $place/cache keys_zone=kept:1m;
  server {
    listen unix:$place/socket;
    location / { proxy_pass http://127.0.0.1:$(cat port); proxy_cache kept; proxy_cache_revalidate on; add_header x-cache \$upstream_cache_status; }
  }
}
CONF
debian/usr/sbin/nginx -c "$place/nginx.conf" -e stderr & echo $! >>pids
until [ -S socket ]; do sleep 0.1; done
cat >show.mjs <<'JS'
import { request } from 'node:http';
const ask = (path) => new Promise((resolve) => request({ socketPath: 'socket', path }, (answer) => resolve(answer.resume().headers)).end());
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const lives = ({ date, expires, 'cache-control': kept = '' }) => Number(/\d+/.exec(kept)?.[0] ?? (Date.parse(expires) - Date.parse(date)) / 1000);
const [aged] = [await ask('/aged'), await ask('/until')];
await wait(2000);
const [later, until] = [await ask('/aged'), await ask('/until')];
console.log(`max-age=3, after 2 seconds: ${later['x-cache']}, Age ${later.age ?? 'none'}, fresh for ${lives(later)} more, as at first: ${lives(aged)}`);
console.log(`Expires in 3, after 2 seconds: ${until['x-cache']}, fresh for ${lives(until)} more`);
await wait(3000);
const renewed = await ask('/until');
const again = await ask('/until');
console.log(`Expires in 3, after 5 seconds: ${renewed['x-cache']}, then ${again['x-cache']}, fresh for ${Math.max(lives(again), 0)} more`);
JS
{
  debian/usr/sbin/nginx -v 2>&1
  node show.mjs
} | tee seen
cat >expected <<'TEXT'
nginx version: nginx/1.22.1
max-age=3, after 2 seconds: HIT, Age none, fresh for 3 more, as at first: 3
Expires in 3, after 2 seconds: HIT, fresh for 1 more
Expires in 3, after 5 seconds: REVALIDATED, then HIT, fresh for 0 more
TEXT
diff expected seen
