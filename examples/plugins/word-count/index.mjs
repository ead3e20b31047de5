// @ts-check
/** @import { PluginContext } from "hermes-agent/plugin" */

/** @param {PluginContext} context */
export function register(context) {
  let counted = 0
  context.registerTool({
    name: "count_words",
    description: "Counts the words of a text.",
    input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    access: "read",
    parallel: "safe",
    run: ({ text }) => {
      const words = String(text)
        .split(/\s+/u)
        .filter((word) => word !== "").length
      counted += words
      return { words }
    },
  })
  context.registerPromptSection({ id: "word-count", text: "Use count_words instead of counting words yourself." })
  context.registerCommand({
    name: "words",
    description: "how many words were counted",
    handler: () => `${counted} words were counted.`,
  })
  context.registerHook("pre_tool_call", ({ args }) => {
    const isPush = /\bgit\s+push\b/u.test(JSON.stringify(args ?? {}))
    return context.config["refuse_push"] !== false && isPush
      ? { action: "block", message: "push it yourself" }
      : undefined
  })
}
