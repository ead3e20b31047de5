import { expect, test } from "vitest"

import { prefixShare } from "./requests.ts"

test.each<[name: string, bodies: string[], share: number]>([
  ["each extends the one before", ['{"messages":[1]}', '{"messages":[1,2]}', '{"messages":[1,2,3]}'], 1],
  ["one starts differently", ['{"messages":[1]}', '{"messages":[9,2]}', '{"messages":[9,2,3]}'], 0.5],
  ["something follows the messages", ['{"messages":[1],"n":1}', '{"messages":[1],"n":1}'], 0],
])("the share of requests that keep the prefix: %s", (_name, bodies, share) => {
  expect(prefixShare(bodies)).toBe(share)
})

test("one request alone proves nothing", () => {
  expect(() => prefixShare(['{"messages":[1]}'])).toThrow("two requests")
})
