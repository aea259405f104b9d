// A provider of OpenID Connect for tests: node oidc_provider.mjs NODE_MODULES PORT REDIRECT_URI. Its keys are new at each start.
import { generateKeyPairSync, randomUUID } from "node:crypto";
const [modules, port, redirect] = process.argv.slice(2);
const { default: Provider } = await import(`${modules}/oidc-provider/lib/index.js`);
const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
const groups = { ada: ["staff", "leads"], bob: ["staff"], eve: ["guests"] };
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: "leadline", client_secret: "a secret & more", redirect_uris: [redirect] }],
  jwks: { keys: [{ ...key, kid: randomUUID(), use: "sig", alg: "RS256" }] },
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
  cookies: { keys: [randomUUID()] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, preferred_username: id.toUpperCase(), groups: groups[id] }) }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
