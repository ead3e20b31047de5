import { expect, test } from "vitest"
import { fingerprint, randomHex, sha256Hex } from "./random-and-hash.ts"

test("random names have the given length and do not repeat", () => {
  const names = Array.from({ length: 1000 }, () => randomHex(6))
  expect(names.every((name) => /^[0-9a-f]{12}$/.test(name))).toBe(true)
  expect(new Set(names).size).toBe(1000)
})

test("equal texts have equal fingerprints, different texts different ones", () => {
  expect(fingerprint("CREATE TABLE a")).toBe(fingerprint("CREATE TABLE a"))
  expect(new Set(["", "a", "b", "ab", "ba", "CREATE TABLE a"].map(fingerprint)).size).toBe(6)
  expect(fingerprint("")).toMatch(/^[0-9a-f]{16}$/)
})

test("SHA-256 of a known text", () => {
  expect(sha256Hex("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
})
