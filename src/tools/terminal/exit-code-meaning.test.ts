import { expect, test } from "vitest"
import { exitCodeMeaning } from "./exit-code-meaning.ts"

test.each([
  ["cat f | grep y", 1, /no matches/],
  ["FOO=1 /usr/bin/rg x", 1, /no matches/],
  ["egrep x f", 1, /no matches/],
  ["ack x", 1, /no matches/],
  ["grep 'a|b; c' f", 1, /no matches/],
  ['grep "a && \\" b" f', 1, /no matches/],
  ["cd x && grep y f;\n", 1, /no matches/],
  ["diff a b", 1, /differ/],
  ["find / -name x", 1, /incomplete/],
  ["test -e x", 1, /false/],
  ["[ -e x ]", 1, /false/],
  ["curl x", 6, /host/],
  ["curl x", 7, /connection/],
  ["curl x", 22, /HTTP/],
  ["curl x", 28, /timed out/],
  ["git diff --exit-code", 1, /normal/],
])("%j with exit code %i means something", (command, code, meaning) => {
  expect(exitCodeMeaning(command, code)).toMatch(meaning)
})

test.each([
  ["grep x f", 2],
  ["grep x f", 0],
  ["ls nope", 2],
  ["grep x f | wc -l", 1],
  ["constructor", 1],
  ["", 1],
])("%j with exit code %i means nothing special", (command, code) => {
  expect(exitCodeMeaning(command, code)).toBeUndefined()
})
