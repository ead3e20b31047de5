import { expect, test } from "vitest"
import { termsOf } from "./terms.ts"

test.each([
  ["The servers were deployed twice", ["server", "deploi", "twice"]],
  ["What is it about?", []],
  ["sessionStore and read_file", ["sessionstor", "session", "store", "read", "file"]],
  ["HTTPServer2", ["httpserver2", "http", "server2"]],
  ["k8s and 2FA", ["k8s", "2fa"]],
  ["Café in Zürich, naïve", ["cafe", "zurich", "naiv"]],
  ["don't", []],
  ["port 5432", ["port", "5432"]],
  ["大别山项目", ["大别", "别山", "山项", "项目"]],
  ["用docker部署", ["用", "docker", "部署"]],
  ["東", ["東"]],
  ["x".repeat(41), []],
  ["", []],
])("%j has the terms %j", (text, terms) => {
  expect(termsOf(text)).toEqual(terms)
})
