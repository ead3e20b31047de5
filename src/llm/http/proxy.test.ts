import { expect, test } from "vitest"
import { environmentFrom } from "../../config/environment.ts"
import { proxyFor } from "./proxy.ts"

const OPENAI = new URL("https://api.openai.com/v1")

test.each<[string, Record<string, string>, URL, boolean, unknown]>([
  ["nothing set", {}, OPENAI, false, undefined],
  ["HTTPS_PROXY", { HTTPS_PROXY: "http://p:1/" }, OPENAI, false, "http://p:1"],
  ["socks:// means SOCKS 5", { HTTPS_PROXY: "socks://p:2" }, OPENAI, false, "socks5://p:2"],
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
  expect(found.ok && found.value?.address).toEqual(proxy)
})

test("a SOCKS proxy has its login, which its displayed address does not contain", () => {
  const read = (value: string) => {
    const found = proxyFor(OPENAI, { environment: environmentFrom({ all_proxy: value }), local: false })
    return found.ok ? found.value : found.error
  }
  expect(read("socks5h://ann:p%40ss@[::1]:9050/")).toEqual({
    kind: "socks",
    variable: "all_proxy",
    address: "socks5h://[::1]:9050",
    hasLogin: true,
    version: 5,
    dnsLookup: "proxy",
    host: "::1",
    port: 9050,
    user: "ann",
    password: "p@ss",
  })
  expect(["socks://p", "SOCKS5://p", "socks4://p", "socks4a://p"].map(read)).toMatchObject([
    { version: 5, dnsLookup: "local", port: 1080, hasLogin: false },
    { version: 5, dnsLookup: "local" },
    { version: 4, dnsLookup: "local" },
    { version: 4, dnsLookup: "proxy" },
  ])
})

test.each([
  [{ HTTPS_PROXY: "http://ann:secret@p:99x" }, 'HTTPS_PROXY ("http://p:99x") is not a URL'],
  [{ all_proxy: "socks5://ann:secret%zz@p:2" }, "all_proxy"],
  [{ all_proxy: "socks6://ann:secret@p:2" }, "all_proxy"],
  [{ ALL_PROXY: "ann:secret@proxy:8080" }, "ALL_PROXY"],
  [{ HTTP_PROXY: "ftp://p" }, "HTTP_PROXY"],
])("%o is reported with the name of the variable, never with the password", (variables, text) => {
  const found = proxyFor(OPENAI, { environment: environmentFrom(variables), local: false })
  expect(found.ok ? "" : found.error).toContain(text)
  expect(found.ok ? "" : found.error).not.toContain("secret")
})
