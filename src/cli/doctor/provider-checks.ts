import { maskAddressPasswords } from "../../config/secrets.ts"
import { storedProviders } from "../../config/stored-logins.ts"
import { chooseModel } from "../../llm/choose-model.ts"
import { probeProvider } from "../report/connectivity.ts"
import { good, note, type DoctorContext, type Finding, type Section } from "./finding.ts"

export const providersSection: Section = {
  title: "Model and provider",
  check: async (context) => {
    const { config, environment } = context.settings
    const chosen = chooseModel({}, { config, environment, stored: storedProviders(context.home) })
    if (!chosen.ok)
      return [{ level: "failure", text: chosen.error.message, fix: "hermes config show lists what is set" }]
    const { runtime, key, demoByDefault } = chosen.value
    if (demoByDefault) {
      return [
        {
          level: "warning",
          text: "no provider is configured, so the demo model answers",
          fix: "hermes config set OPENROUTER_API_KEY KEY, or hermes config set model.base_url http://… for a local server",
        },
      ]
    }
    const { credentialSource } = runtime
    const source = credentialSource === "none needed" ? "no key needed" : `key from ${credentialSource}`
    const found = good(`${runtime.model} from ${runtime.provider}, ${source}`)
    if (runtime.provider === "demo") return [found]
    const probe = await probeProvider({ address: runtime.baseUrl, key, signal: context.signal })
    const text = maskAddressPasswords(`${runtime.baseUrl} ${probe.text}`)
    return [
      found,
      probe.level === "ok"
        ? good(text)
        : { level: probe.level, text, fix: "check the address, the key and the network" },
    ]
  },
}

const LOCAL_SERVERS = [
  ["Ollama", "http://127.0.0.1:11434/v1"],
  ["LM Studio", "http://127.0.0.1:1234/v1"],
  ["vLLM", "http://127.0.0.1:8000/v1"],
  ["llama.cpp", "http://127.0.0.1:8080/v1"],
] as const

const LOCAL_TIMEOUT_MS = 700

export const localServersSection: Section = {
  title: "Local servers",
  check: async (context) => {
    const found = await Promise.all(LOCAL_SERVERS.map(([name, address]) => lookForServer(name, address, context)))
    const running = found.flatMap((finding) => finding ?? [])
    return running.length === 0 ? [note("none found on the usual ports")] : running
  },
}

async function lookForServer(name: string, address: string, { signal }: DoctorContext): Promise<Finding | undefined> {
  try {
    const response = await fetch(`${address}/models`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(LOCAL_TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    return response.ok ? good(`${name} answers at ${address}`) : undefined
  } catch {
    // Nothing listens there, which is the usual case.
    return undefined
  }
}
