import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: '/app/',
  plugins: [react()],
  define: { __API_URL__: JSON.stringify(process.env['VITE_API_URL'] ?? '') },
  build: {
    target: 'chrome90',
    outDir: 'dist',
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: { input: ['index.html', 'panel.html'].map(name => `${import.meta.dirname}/${name}`) },
  },
})
