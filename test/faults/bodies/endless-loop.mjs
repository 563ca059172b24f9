export default () => {
  for (;;);
}
