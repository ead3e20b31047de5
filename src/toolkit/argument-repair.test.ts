import { expect, test } from "vitest"

import { repairArguments } from "./argument-repair.ts"
import { fc } from "../../test/support/property.ts"

test.each([
  ['{"a":1}', '{"a":1}'],
  ["", "{}"],
  ["  ", "{}"],
  ["None", "{}"],
  ['{"a": 1,}', '{"a": 1}'],
  ['{"a":[1,2,],}', '{"a":[1,2]}'],
  ['{"a":{"b":1}', '{"a":{"b":1}}'],
  ['{"a":[1,2', '{"a":[1,2]}'],
  ['{"a":[1,2,', '{"a":[1,2]}'],
  ['{"a":[1,2}', "{}"],
  ['{"a":1}}', '{"a":1}'],
  ['{"a":1}}}]', '{"a":1}'],
  [`{"a":1}${"}".repeat(50)}`, '{"a":1}'],
  [`{"a":1}${"}".repeat(51)}`, "{}"],
  ['{"a":"x\ty"}', String.raw`{"a":"x\ty"}`],
  ['{"a":"x\ny",}', String.raw`{"a":"x\ny"}`],
  ['{"a":"x\ny"', String.raw`{"a":"x\ny"}`],
  ['{"a":"unterminated', "{}"],
  ['{"a":"ends in a quote\\"', "{}"],
  ["[1,2", "[1,2]"],
  ['{"a":tru', "{}"],
  ['{"a":1 "b":2}', "{}"],
  ["null", "null"],
  ['{"a":"}{["}', '{"a":"}{["}'],
  ['{"a":"}{["', '{"a":"}{["}'],
  ['{"a":",}",}', '{"a":",}"}'],
  ['{"a":[1 , ]}', '{"a":[1  ]}'],
  ['{"a":1,,}', "{}"],
])("%j becomes %j", (given, wanted) => {
  expect(repairArguments(given)).toBe(wanted)
})

test("any text becomes JSON, and a second repair changes nothing", () => {
  const piece = fc.constantFrom("{", "}", "[", "]", ",", ":", '"', "\\", "\n", "\t", " ", "a", "1", "null", '"a":')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const repaired = repairArguments(pieces.join(""))
      expect(() => JSON.parse(repaired)).not.toThrow()
      expect(repairArguments(repaired)).toBe(repaired)
    }),
  )
})

test("valid arguments keep their value when they are cut after a complete member", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.string(), { minKeys: 1 }), (args) => {
      expect(JSON.parse(repairArguments(JSON.stringify(args).slice(0, -1)))).toEqual(args)
    }),
  )
})
