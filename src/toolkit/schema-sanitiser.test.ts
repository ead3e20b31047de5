import { describe, expect, test } from "vitest"

import { sanitiseParameters, stripPatternAndFormat } from "./schema-sanitiser.ts"

const EMPTY = { type: "object", properties: {} }

describe("parameters", () => {
  test.each([
    { name: "an object without properties", given: { type: "object" }, wanted: EMPTY },
    { name: "null", given: null, wanted: EMPTY },
    { name: "nothing", given: undefined, wanted: EMPTY },
    { name: "a bare type name", given: "object", wanted: EMPTY },
    { name: "a list", given: [1], wanted: EMPTY },
    {
      name: "a nullable type list and an unknown required name",
      given: { type: "object", properties: { a: { type: ["string", "null"] } }, required: ["a", "zz"] },
      wanted: { type: "object", properties: { a: { type: "string", nullable: true } }, required: ["a"] },
    },
    {
      name: "a required list that becomes empty",
      given: { type: "object", properties: {}, required: ["zz"] },
      wanted: EMPTY,
    },
    {
      name: "a required name that every object inherits",
      given: { type: "object", properties: {}, required: ["toString"] },
      wanted: EMPTY,
    },
    {
      name: "a combinator at the top",
      given: { oneOf: [{ required: ["x"] }], properties: { x: { type: "string" } } },
      wanted: { type: "object", properties: { x: { type: "string" } } },
    },
    {
      name: "an optional object at the top",
      given: { anyOf: [{ type: "object", properties: { x: { type: "string" } } }, { type: "null" }] },
      wanted: { type: "object", nullable: true, properties: { x: { type: "string" } } },
    },
  ])("$name", ({ given, wanted }) => {
    expect(sanitiseParameters(given)).toEqual(wanted)
  })
})

describe("one property", () => {
  test.each([
    {
      name: "a branch and null, with the outer texts kept",
      given: { anyOf: [{ type: "string" }, { type: "null" }], default: null, description: "d" },
      wanted: { type: "string", nullable: true, description: "d", default: null },
    },
    {
      name: "the same with oneOf",
      given: { oneOf: [{ type: "null" }, { type: "object" }] },
      wanted: { type: "object", nullable: true, properties: {} },
    },
    {
      name: "a union of two real branches stays",
      given: { anyOf: [{ type: "string" }, { type: "integer" }] },
      wanted: { anyOf: [{ type: "string" }, { type: "integer" }] },
    },
    { name: "a bare type name", given: "object", wanted: EMPTY },
    { name: "a default next to a reference", given: { $ref: "#/$defs/F", default: 1 }, wanted: { $ref: "#/$defs/F" } },
    {
      name: "nested nodes",
      given: { type: "array", items: { type: "object", required: ["a"] } },
      wanted: { type: "array", items: EMPTY },
    },
    {
      name: "lists of data are left alone",
      given: { type: "string", enum: ["object"], examples: [{ type: ["string", "null"] }], required: ["x"] },
      wanted: { type: "string", enum: ["object"], examples: [{ type: ["string", "null"] }], required: ["x"] },
    },
    {
      name: "a nested combinator stays",
      given: { type: "object", properties: {}, not: { type: ["string", "null"] } },
      wanted: { ...EMPTY, not: { type: "string", nullable: true } },
    },
    {
      name: "additionalProperties as a boolean",
      given: { type: "object", additionalProperties: false },
      wanted: { ...EMPTY, additionalProperties: false },
    },
  ])("$name", ({ given, wanted }) => {
    expect(sanitiseParameters({ type: "object", properties: { a: given } })).toEqual({
      type: "object",
      properties: { a: wanted },
    })
  })

  test("a second pass changes nothing", () => {
    const once = sanitiseParameters({
      properties: { a: { type: ["string", "null"] }, b: { anyOf: [{ type: "object" }, { type: "null" }] } },
    })
    expect(sanitiseParameters(once)).toEqual(once)
  })
})

test("patterns and formats are removed, a property named pattern stays", () => {
  expect(
    stripPatternAndFormat({
      type: "object",
      properties: {
        pattern: { type: "string", pattern: "^a$" },
        when: { type: "array", items: { type: "string", format: "date" } },
      },
    }),
  ).toEqual({
    type: "object",
    properties: { pattern: { type: "string" }, when: { type: "array", items: { type: "string" } } },
  })
})
