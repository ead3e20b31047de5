import { expect, test } from "vitest"

import { moonshotSchema } from "./moonshot-schema.ts"

test.each([
  [{ enum: ["a", null, ""] }, { type: "string", enum: ["a"] }],
  [{ enum: [null] }, { type: "string" }],
  [{ enum: [1, 2] }, { type: "integer", enum: [1, 2] }],
  [{ const: true }, { type: "boolean", const: true }],
  [{ const: 1.5 }, { type: "number", const: 1.5 }],
  [{ description: "d" }, { type: "string", description: "d" }],
  [
    { type: "string", nullable: true, description: "d" },
    { type: "string", description: "d" },
  ],
  [{ type: ["string", "number"] }, { type: "string" }],
  [{ properties: { a: {} } }, { type: "object", properties: { a: { type: "string" } } }],
  [{ items: { enum: ["x", ""] } }, { type: "array", items: { type: "string", enum: ["x"] } }],
  [{ $ref: "#/$defs/x" }, { $ref: "#/$defs/x" }],
  [
    { type: "string", description: "d", anyOf: [{ minLength: 1 }, { type: "integer" }] },
    { description: "d", anyOf: [{ type: "string", minLength: 1 }, { type: "integer" }] },
  ],
  [
    { description: "d", anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] },
    { type: "integer", minimum: 1, description: "d" },
  ],
  [{ anyOf: [{ type: "null" }] }, { type: "string" }],
  [
    { anyOf: [{ type: "integer" }, { type: "null" }, { type: "boolean" }] },
    { anyOf: [{ type: "integer" }, { type: "boolean" }] },
  ],
  [
    { type: "object", properties: { nullable: { type: "boolean" }, anyOf: { type: "array", items: {} } } },
    {
      type: "object",
      properties: { nullable: { type: "boolean" }, anyOf: { type: "array", items: { type: "string" } } },
    },
  ],
  [
    { type: "object", properties: {}, additionalProperties: false, required: ["a"] },
    { type: "object", properties: {}, additionalProperties: false, required: ["a"] },
  ],
])("%j becomes %j", (schema, expected) => {
  expect(moonshotSchema(schema)).toEqual(expected)
})
