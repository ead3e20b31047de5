import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "scripts/**/*.test.ts", "test/**/*.test.ts"],
    environment: "node",
    globalSetup: ["test/support/scratch-directory.ts"],
    pool: "forks",
    maxWorkers: 2,
    // Limits for tests that hang. A busy machine makes every test slower.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What a developer has exported must not reach a test: tests choose their own home and keys.
    env: { HERMES_HOME: "", HERMES_INFERENCE_MODEL: "", HERMES_INFERENCE_PROVIDER: "", NO_COLOR: "1" },
  },
})
