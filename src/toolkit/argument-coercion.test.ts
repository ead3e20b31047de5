import { expect, test } from "vitest"

import { coerceArguments } from "./argument-coercion.ts"

test.each<{ type: object; given: unknown; wanted: unknown }>([
  { type: { type: "integer" }, given: "10", wanted: 10 },
  { type: { type: "integer" }, given: "42", wanted: 42 },
  { type: { type: "integer" }, given: "5.0", wanted: 5 },
  { type: { type: "integer" }, given: "1e3", wanted: 1000 },
  { type: { type: "integer" }, given: "-7", wanted: -7 },
  { type: { type: "integer" }, given: "3.5", wanted: "3.5" },
  { type: { type: "integer" }, given: "abc", wanted: "abc" },
  { type: { type: "integer" }, given: "", wanted: "" },
  { type: { type: "integer" }, given: "inf", wanted: "inf" },
  { type: { type: "integer" }, given: "nan", wanted: "nan" },
  { type: { type: "integer" }, given: "0x10", wanted: "0x10" },
  { type: { type: "integer" }, given: "12345678901234567890", wanted: "12345678901234567890" },
  { type: { type: "number" }, given: "4.5", wanted: 4.5 },
  { type: { type: "number" }, given: "Infinity", wanted: "Infinity" },
  { type: { type: "number" }, given: "1e999", wanted: "1e999" },
  { type: { type: "boolean" }, given: "TRUE", wanted: true },
  { type: { type: "boolean" }, given: "false", wanted: false },
  { type: { type: "boolean" }, given: "yes", wanted: "yes" },
  { type: { type: "array" }, given: '["a", 1]', wanted: ["a", 1] },
  { type: { type: "array" }, given: "a", wanted: ["a"] },
  { type: { type: "array" }, given: 3, wanted: [3] },
  { type: { type: "array" }, given: { a: 1 }, wanted: [{ a: 1 }] },
  { type: { type: "array" }, given: "[bad", wanted: ["[bad"] },
  { type: { type: "array" }, given: null, wanted: null },
  { type: { type: "array" }, given: ["x"], wanted: ["x"] },
  { type: { type: "object" }, given: '{"a":1}', wanted: { a: 1 } },
  { type: { type: "object" }, given: "[1]", wanted: "[1]" },
  { type: { type: "string" }, given: "42", wanted: "42" },
  { type: { type: "string" }, given: "null", wanted: "null" },
  { type: { type: "string", nullable: true }, given: "null", wanted: null },
  { type: { type: ["integer", "null"] }, given: "null", wanted: null },
  { type: { anyOf: [{ type: "integer" }, { type: "null" }] }, given: "null", wanted: null },
  { type: { type: ["integer", "string"] }, given: "7", wanted: 7 },
  { type: { type: ["integer", "string"] }, given: "x", wanted: "x" },
  { type: { type: ["string", "integer"] }, given: "7", wanted: "7" },
  { type: { anyOf: [{ type: "array" }, { type: "string" }] }, given: "a", wanted: "a" },
  { type: { anyOf: [{ type: "array" }, { type: "object" }] }, given: { a: 1 }, wanted: { a: 1 } },
  { type: { $ref: "#/$defs/x" }, given: "7", wanted: "7" },
])("$given for $type becomes $wanted", ({ type, given, wanted }) => {
  expect(coerceArguments({ a: given }, { type: "object", properties: { a: type } })).toEqual({ a: wanted })
})

test("without a schema, or for a parameter it does not list, nothing changes", () => {
  expect(coerceArguments({ a: "1" }, undefined)).toEqual({ a: "1" })
  expect(coerceArguments({ toString: "1" }, { type: "object", properties: {} })).toEqual({ toString: "1" })
})
