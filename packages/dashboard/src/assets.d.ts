/** Files that the build serves: importing one gives its address. */
declare module "*.svg" {
  const address: string;

  export { address as default };
}
declare module "*.css";
