#include <cuda_fp16.h>
#include <cstdio>
#include <cuda_profiler_api.h>
#define N8 for(int k=0;k<8;k++)
__global__ void fma_fp64(double*o,double a,double b,int it){double r[8];N8 r[k]=threadIdx.x+k;for(int i=0;i<it;i++){
_Pragma("unroll") N8 r[k]=fma(r[k],a,b);} double s=0;N8 s+=r[k];if(s==1234.5)o[0]=s;}
__global__ void hfma2(__half2*o,int it){__half2 r[8],a=__floats2half2_rn(1.001f,.999f),b=__floats2half2_rn(.1f,.2f);N8 r[k]=__floats2half2_rn(threadIdx.x,k);for(int i=0;i<it;i++){
_Pragma("unroll") N8 r[k]=__hfma2(r[k],a,b);} __half2 s=r[0];for(int k=1;k<8;k++)s=__hadd2(s,r[k]);if(__low2float(s)==1234.5f)o[0]=s;}
__global__ void int_logic(int*o,int a,int it){int r[8];N8 r[k]=threadIdx.x*k;for(int i=0;i<it;i++){
_Pragma("unroll") N8 r[k]=(r[k]^a)+(r[k]>>3);} int s=0;N8 s^=r[k];if(s==1234567)o[0]=s;}
__global__ void imad(int*o,int a,int b,int it){int r[8];N8 r[k]=threadIdx.x*k;for(int i=0;i<it;i++){
_Pragma("unroll") N8 r[k]=r[k]*a+b;} int s=0;N8 s^=r[k];if(s==1234567)o[0]=s;}
__global__ void dep_fma(float*o,float a,float b,int it){float r=threadIdx.x;for(int i=0;i<it;i++){
_Pragma("unroll") for(int k=0;k<16;k++) r=fmaf(r,a,b);} if(r==1234.5f)o[0]=r;}
__global__ void dep_chase_l2(const int*a,int*o,int it){int p=(blockIdx.x*blockDim.x+threadIdx.x)*32%(1<<20);for(int i=0;i<it;i++)p=__ldcg(a+p);if(p==-5)o[0]=p;}
__global__ void l1_read(const float4*a,float*o,int it){float acc=0;int i=threadIdx.x;for(int k=0;k<it;k++){float4 v;asm volatile("ld.global.ca.v4.f32 {%0,%1,%2,%3},[%4];":"=f"(v.x),"=f"(v.y),"=f"(v.z),"=f"(v.w):"l"(a+((i+k*32)&511)));acc+=v.x+v.w;}if(acc==1234.5f)o[0]=acc;}
__global__ void smem_read(float*o,int it){__shared__ float4 s[1024];for(int i=threadIdx.x;i<1024;i+=blockDim.x)s[i]=make_float4(i,1,2,3);__syncthreads();float acc=0;for(int i=0;i<it;i++){volatile float4*p=(volatile float4*)s;int j=(threadIdx.x+i*32)&1023;float x=p[j].x;float y=p[j].y;acc+=x+y;}if(acc==1234.5f)o[0]=acc;}
__global__ void hot_atomic(int*o,int it){for(int i=0;i<it;i++)atomicAdd(o,(int)threadIdx.x+i);}
__global__ void spread_atomic(int*o,int it){for(int i=0;i<it;i++)atomicAdd(o+((blockIdx.x*blockDim.x+threadIdx.x)*33+i*7919)%(1<<22),i);}
__global__ void spill(float*o,int it,int m){float a[64];for(int k=0;k<64;k++)a[k]=threadIdx.x+k;for(int i=0;i<it;i++){int j=(i*m+threadIdx.x)&63;a[j]=a[(j*7)&63]*1.01f+1;}float s=0;for(int k=0;k<64;k++)s+=a[k];if(s==1234.5f)o[0]=s;}
__global__ void diverge(float*o,int it){float r=threadIdx.x;int l=threadIdx.x&31;for(int i=0;i<it;i++){for(int j=0;j<32;j++){if(l==j){
_Pragma("unroll") for(int k=0;k<8;k++) r=fmaf(r,1.0001f+j,0.5f);}}}if(r==1234.5f)o[0]=r;}
__global__ void under(float*o,float a,float b,int it){float r[8];N8 r[k]=threadIdx.x+k;for(int i=0;i<it;i++){
_Pragma("unroll") N8 r[k]=fmaf(r[k],a,b);}float s=0;N8 s+=r[k];if(s==1234.5f)o[0]=s;}
__global__ void ridge(const float4*a,float4*b,size_t n){size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;size_t s=(size_t)gridDim.x*blockDim.x;for(;i<n;i+=s){float4 v=a[i];
_Pragma("unroll") for(int k=0;k<28;k++){v.x=fmaf(v.x,1.01f,.5f);v.y=fmaf(v.y,1.01f,.5f);v.z=fmaf(v.z,1.01f,.5f);v.w=fmaf(v.w,1.01f,.5f);}b[i]=v;}}
__global__ void empty_k(){}
__global__ void syncs(float*o,int it){for(int i=0;i<it;i++)__syncthreads();if(it<0)o[0]=1;}
__global__ void shared_atomic(int*o,int it){__shared__ int h[32];if(threadIdx.x<32)h[threadIdx.x]=0;__syncthreads();for(int i=0;i<it;i++)atomicAdd(h+(threadIdx.x*i&7),1);__syncthreads();if(h[0]==-1)o[0]=1;}
__global__ void dram_read(const float4*a,float*o,size_t n){size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;size_t s=(size_t)gridDim.x*blockDim.x;float acc=0;for(;i<n;i+=s){float4 v=a[i];acc+=v.x+v.y+v.z+v.w;}if(acc==1234.5f)o[0]=acc;}
__global__ void dram_write(float4*b,size_t n){size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x;size_t s=(size_t)gridDim.x*blockDim.x;for(;i<n;i+=s)b[i]=make_float4(i,1,2,3);}
__global__ void tail(float*o,float a,float b,int it){float r[4]={1,2,3,4};for(int i=0;i<it;i++)for(int k=0;k<4;k++)r[k]=fmaf(r[k],a,b);if(r[0]+r[1]+r[2]+r[3]==1234.5f)o[0]=1;}
__global__ void sqrt_div(float*o,int it){float r=threadIdx.x+1;for(int i=0;i<it;i++)r=sqrtf(r)/1.3f+sinf(r);if(r==1234.5f)o[0]=r;}
int main(){char*a,*b;cudaMalloc(&a,1<<30);cudaMalloc(&b,1<<30);cudaMemset(a,0,1<<30);float*o=(float*)b;int F=1056;size_t n4=(1ull<<30)/16;
 cudaDeviceSynchronize();cudaProfilerStart();
 fma_fp64<<<F,256>>>((double*)o,1.0001,.5,1024);hfma2<<<F,256>>>((__half2*)o,2048);int_logic<<<F,256>>>((int*)o,7,2048);imad<<<F,256>>>((int*)o,7,3,2048);
 dep_fma<<<132,32>>>(o,1.01f,.5f,2000);dep_fma<<<F,32>>>(o,1.01f,.5f,2000);dep_fma<<<F*4,64>>>(o,1.01f,.5f,500);
 dep_chase_l2<<<132,32>>>((int*)a,(int*)o,500);dep_chase_l2<<<F,256>>>((int*)a,(int*)o,100);
 l1_read<<<F,256>>>((float4*)a,o,2048);smem_read<<<F,256>>>(o,2048);
 hot_atomic<<<F,256>>>((int*)o,64);spread_atomic<<<F,256>>>((int*)a,64);spill<<<F,256>>>(o,512,5);diverge<<<F,256>>>(o,64);
 under<<<16,256>>>(o,1.0001f,.5f,8192);under<<<100,1024>>>(o,1.0001f,.5f,4096);ridge<<<F*4,256>>>((float4*)a,(float4*)b,n4);empty_k<<<1,1>>>();empty_k<<<F,256>>>();
 syncs<<<F,1024>>>(o,1000);shared_atomic<<<F,256>>>((int*)o,500);dram_read<<<F,256>>>((float4*)a,o,n4);dram_write<<<F,256>>>((float4*)b,n4);
 tail<<<F+20,256>>>(o,1.01f,.5f,4000);sqrt_div<<<F,256>>>(o,200);
 cudaError_t e=cudaDeviceSynchronize();cudaProfilerStop();printf("%s\n",cudaGetErrorString(e));}
