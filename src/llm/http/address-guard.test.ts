import { expect, test } from "vitest"

import { checkUrl } from "./address-guard.ts"

function isAllowed(url: string, allowsPrivate = false): boolean {
  try {
    checkUrl(new URL(url), { allowsPrivate })
    return true
  } catch {
    return false
  }
}

test.each([
  ["http://2130706433/", false, true],
  ["http://0x7f000001/", false, true],
  ["http://[::ffff:10.0.0.1]/", false, true],
  ["http://169.254.169.254/latest", false, false],
  ["http://metadata.goog./x", false, false],
  ["ftp://8.8.8.8/", false, false],
  ["file:///etc/passwd", false, false],
  ["http://8.8.8.8/", true, true],
])("%s: allowed %s, where private addresses are allowed %s", (url, isSafe, withPrivate) => {
  expect([isAllowed(url), isAllowed(url, true)]).toEqual([isSafe, withPrivate])
})
