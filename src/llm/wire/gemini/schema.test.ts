import { expect, test } from "vitest"

import { sanitiseForGemini } from "./schema.ts"

test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
  [
    "keywords Gemini does not support",
    {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      additionalProperties: false,
      properties: { a: { type: "string", $comment: "x", minLength: 1, const: "b" } },
      oneOf: [{ required: ["a"] }],
    },
    { type: "object", properties: { a: { type: "string", minLength: 1 } } },
  ],
  ["a number with choices", { type: "integer", enum: [1, 2], description: "d" }, { type: "integer", description: "d" }],
  ["a switch with choices", { type: "boolean", enum: [true] }, { type: "boolean" }],
  ["a text with choices", { type: "string", enum: ["a", "", null, "b"] }, { type: "string", enum: ["a", "b"] }],
  ["choices without a type", { enum: ["a"] }, { type: "string", enum: ["a"] }],
  ["a nullable type", { type: ["string", "null"] }, { type: "string", nullable: true }],
  [
    "several types",
    { type: ["string", "integer", "null"], description: "d" },
    { anyOf: [{ type: "string" }, { type: "integer" }], description: "d", nullable: true },
  ],
  [
    "branches",
    {
      anyOf: [
        { type: "string", format: "uri" },
        { type: "array", items: { type: "object", additionalProperties: {} } },
      ],
    },
    { anyOf: [{ type: "string" }, { type: "array", items: { type: "object" } }] },
  ],
  ["a list of anything", { type: "array" }, { type: "array", items: { type: "string" } }],
  ["a tuple", { type: "array", items: [{ type: "number" }] }, { type: "array", items: { type: "number" } }],
  ["a schema that is a type name", { type: "array", items: "number" }, { type: "array", items: { type: "number" } }],
  [
    "required names that are not properties",
    { type: "object", properties: { a: { type: "string" } }, required: ["a", "b"] },
    { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
  ],
  ["an object without properties", { type: "object", properties: {}, required: ["a"] }, { type: "object" }],
  ["a known format of a text", { type: "string", format: "date-time" }, { type: "string", format: "date-time" }],
  ["a format of a number", { type: "integer", format: "int64" }, { type: "integer", format: "int64" }],
  [
    "properties named like schema keywords",
    {
      type: "object",
      properties: {
        $ref: { type: "string" },
        pattern: { type: "string" },
        enum: { type: "array", items: { type: "string" } },
      },
      required: ["$ref", "enum"],
    },
    {
      type: "object",
      properties: {
        $ref: { type: "string" },
        pattern: { type: "string" },
        enum: { type: "array", items: { type: "string" } },
      },
      required: ["$ref", "enum"],
    },
  ],
  [
    "all supported keywords",
    {
      type: "object",
      title: "t",
      description: "d",
      nullable: true,
      minProperties: 1,
      maxProperties: 2,
      propertyOrdering: ["a"],
      default: {},
      example: {},
      properties: {
        a: { type: "string", minLength: 1, maxLength: 2, pattern: "a" },
        b: { type: "array", minItems: 1, maxItems: 2, items: { type: "number", minimum: 0, maximum: 1 } },
      },
    },
    {
      type: "object",
      title: "t",
      description: "d",
      nullable: true,
      minProperties: 1,
      maxProperties: 2,
      propertyOrdering: ["a"],
      default: {},
      example: {},
      properties: {
        a: { type: "string", minLength: 1, maxLength: 2, pattern: "a" },
        b: { type: "array", minItems: 1, maxItems: 2, items: { type: "number", minimum: 0, maximum: 1 } },
      },
    },
  ],
])("%s", (_name, schema, expected) => {
  const before = structuredClone(schema)
  expect(sanitiseForGemini(schema)).toEqual(expected)
  expect(schema).toEqual(before)
})
