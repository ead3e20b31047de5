import { expect, test } from "vitest"

import { normaliseInputSchema } from "./input-schema.ts"
import { isOffered } from "./tool-filter.ts"
import { mcpToolName } from "./tool-names.ts"

test("names are made of the server and the tool", () => {
  expect(mcpToolName("my-server.v2", "list/all", new Set())).toBe("mcp_my_server_v2_list_all")
  expect(mcpToolName("s", "a-b", new Set(["mcp_s_a_b"]))).toMatch(/^mcp_s_a_b_[0-9a-f]{8}$/)
  expect(mcpToolName("s", "x".repeat(100), new Set())).toMatch(/^mcp_s_x+_[0-9a-f]{8}$/)
  expect(mcpToolName("s", "x".repeat(100), new Set())).toHaveLength(64)
})

test("include wins over exclude", () => {
  const rest = { resources: true, prompts: true }
  expect(isOffered("a", { include: ["a"], exclude: ["a"], ...rest })).toBe(true)
  expect(isOffered("list_x", { exclude: ["list_*"], ...rest })).toBe(false)
})

test("older schemas are brought to the current form", () => {
  expect(
    normaliseInputSchema({
      $schema: "http://json-schema.org/draft-07/schema#",
      properties: { definitions: { $ref: "#/definitions/F" } },
      definitions: { F: { type: ["string", "null"] } },
      required: ["definitions", "gone"],
    }),
  ).toEqual({
    type: "object",
    properties: { definitions: { $ref: "#/$defs/F" } },
    $defs: { F: { type: "string", nullable: true } },
    required: ["definitions"],
  })
})
