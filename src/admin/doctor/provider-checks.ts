import { chooseModelFor } from "../../app/services/model-sources.ts"
import { maskAddressPasswords } from "../../config/secrets.ts"
import { probeProvider } from "../report/probe-provider.ts"
import { infoFinding, okFinding, type DoctorContext, type Finding, type Section } from "./finding.ts"

export const providersSection: Section = {
  title: "Model and provider",
  check: async (context) => {
    const chosen = chooseModelFor(context, {})
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
    const found = okFinding(`${runtime.model} from ${runtime.provider}, ${source}`)
    if (runtime.provider === "demo") return [found]
    const probe = await probeProvider({ address: runtime.baseUrl, key, signal: context.signal })
    const text = maskAddressPasswords(`${runtime.baseUrl} ${probe.text}`)
    return [
      found,
      probe.level === "ok"
        ? okFinding(text)
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
    const findings = await Promise.all(LOCAL_SERVERS.map(([name, address]) => serverFinding(name, address, context)))
    const running = findings.filter((finding) => finding !== undefined)
    return running.length === 0 ? [infoFinding("none found on the usual ports")] : running
  },
}

async function serverFinding(name: string, address: string, { signal }: DoctorContext): Promise<Finding | undefined> {
  try {
    const response = await fetch(`${address}/models`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(LOCAL_TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    return response.ok ? okFinding(`${name} answers at ${address}`) : undefined
  } catch {
    // Usually no server listens there.
    return undefined
  }
}
