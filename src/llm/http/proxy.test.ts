import { expect, test } from "vitest"
import { environmentFrom } from "../../config/environment.ts"
import { normalise, proxyFor } from "./proxy.ts"

const OPENAI = new URL("https://api.openai.com/v1")

test.each([
  ["http://p:1/", "http://p:1"],
  ["socks://p:2", "socks5://p:2"],
])("%s is read as %s", (given, expected) => {
  expect(normalise(given)).toBe(expected)
})

test.each<[string, Record<string, string>, URL, boolean, unknown]>([
  ["nothing set", {}, OPENAI, false, undefined],
  ["HTTPS_PROXY", { HTTPS_PROXY: "http://p:1/" }, OPENAI, false, "http://p:1"],
  ["a lower-case name", { https_proxy: "http://p:3" }, OPENAI, false, "http://p:3"],
  ["ALL_PROXY after the others", { ALL_PROXY: "http://a:1", HTTP_PROXY: "http://h:1" }, OPENAI, false, "http://h:1"],
  ["a suffix in NO_PROXY", { HTTPS_PROXY: "http://p:1", NO_PROXY: ".openai.com" }, OPENAI, false, undefined],
  ["everything in NO_PROXY", { HTTPS_PROXY: "http://p:1", NO_PROXY: "*" }, OPENAI, false, undefined],
  [
    "another port in NO_PROXY",
    { HTTPS_PROXY: "http://p:1", NO_PROXY: "api.openai.com:8080" },
    OPENAI,
    false,
    "http://p:1",
  ],
  ["a host that only ends alike", { HTTPS_PROXY: "http://p:1", NO_PROXY: "ai.com" }, OPENAI, false, "http://p:1"],
  ["a local endpoint", { HTTPS_PROXY: "http://p:1" }, new URL("http://localhost:1"), true, undefined],
])("%s", (_name, variables, url, local, proxy) => {
  const found = proxyFor(url, { environment: environmentFrom(variables), local })
  expect(found.ok && found.value?.HTTPS_PROXY).toEqual(proxy)
})

test.each([
  [{ HTTPS_PROXY: "http://p:99x" }, "HTTPS_PROXY"],
  [{ all_proxy: "socks://p:2" }, "all_proxy names a SOCKS proxy"],
  [{ HTTP_PROXY: "ftp://p" }, "HTTP_PROXY"],
])("%o is answered with the name of the variable", (variables, text) => {
  const found = proxyFor(OPENAI, { environment: environmentFrom(variables), local: false })
  expect(found.ok ? "" : found.error).toContain(text)
})
